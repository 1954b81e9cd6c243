import { Component, createElement, type FunctionComponent } from "preact";

/** Returns a component that is rendered again only when a property has changed. */
export function memo<P extends object>(inner: FunctionComponent<P>): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const keys = Object.keys(next) as (keyof P)[];
      return keys.some((key) => !Object.is(this.props[key], next[key]));
    }

    override render() {
      return createElement(inner, this.props as P & { key?: never });
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}

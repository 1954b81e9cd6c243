/** Keys in one bucket: a change copies one bucket and the list of buckets, and nothing else. */
const BUCKET = 64;

/** An immutable map with integer keys, for tens of thousands of entries that change one by one. */
export class Table<V> {
  private constructor(
    private readonly buckets: ReadonlyMap<number, ReadonlyMap<number, V>>,
    readonly size: number,
  ) {}

  static empty<V>(): Table<V> {
    return new Table<V>(new Map(), 0);
  }

  static from<V>(entries: Iterable<readonly [number, V]>): Table<V> {
    return Table.empty<V>().with(entries);
  }

  get(key: number): V | undefined {
    return this.buckets.get(Math.floor(key / BUCKET))?.get(key);
  }

  has(key: number): boolean {
    return this.buckets.get(Math.floor(key / BUCKET))?.has(key) ?? false;
  }

  set(key: number, value: V): Table<V> {
    return this.with([[key, value]]);
  }

  /** Returns the table with these entries added or replaced. */
  with(entries: Iterable<readonly [number, V]>): Table<V> {
    const buckets = new Map(this.buckets);
    const copied = new Map<number, Map<number, V>>();
    let size = this.size;
    for (const [key, value] of entries) {
      const at = Math.floor(key / BUCKET);
      let bucket = copied.get(at);
      if (!bucket) {
        bucket = new Map(buckets.get(at));
        copied.set(at, bucket);
        buckets.set(at, bucket);
      }
      if (!bucket.has(key)) size += 1;
      bucket.set(key, value);
    }
    return copied.size === 0 ? this : new Table(buckets, size);
  }

  /** Returns the table without these keys. */
  without(keys: Iterable<number>): Table<V> {
    const buckets = new Map(this.buckets);
    const copied = new Map<number, Map<number, V>>();
    let size = this.size;
    for (const key of keys) {
      if (!this.has(key)) continue;
      const at = Math.floor(key / BUCKET);
      let bucket = copied.get(at);
      if (!bucket) {
        bucket = new Map(buckets.get(at));
        copied.set(at, bucket);
        buckets.set(at, bucket);
      }
      if (bucket.delete(key)) size -= 1;
      if (bucket.size === 0) buckets.delete(at);
    }
    return copied.size === 0 ? this : new Table(buckets, size);
  }

  *entries(): Generator<[number, V]> {
    for (const bucket of this.buckets.values()) yield* bucket;
  }

  *values(): Generator<V> {
    for (const bucket of this.buckets.values()) yield* bucket.values();
  }
}

// The search field: the narrow that is shown, as pills that can be taken away, and words for another.
import { useRef, useState } from "preact/hooks";
import { app, useStore } from "../app/app";
import { go, goNarrow } from "../app/actions";
import { addTerms, proposals, termLabel, type Proposal } from "../store/search";
import { withoutAnchor, type Narrow } from "../store/narrow";
import { Avatar, IconButton } from "../widgets/controls";
import { Icon } from "../widgets/icons";
import { t } from "../text/language";

export function SearchField({ narrow }: { narrow: Narrow | undefined }) {
  const terms = narrow ? withoutAnchor(narrow) : [];
  const [typed, setTyped] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const labels = useStore((state) => terms.map((term) => termLabel(term, state)).join("\n")).split("\n");
  const found: Proposal[] = isOpen && app.state ? proposals(typed, app.state) : [];
  const show = (next: Narrow) => {
    setTyped("");
    setOpen(false);
    if (next.length === 0) go("#feed");
    else goNarrow(next);
  };
  const pick = (proposal: Proposal | undefined) => {
    if (!proposal) return;
    field.current?.blur();
    show(addTerms(terms, proposal.terms));
  };
  const keys = (event: KeyboardEvent) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move !== undefined && found.length > 0) {
      event.preventDefault();
      setAt((at + move + found.length) % found.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      pick(found[at]);
    } else if (event.key === "Escape") {
      event.stopPropagation();
      setTyped("");
      field.current?.blur();
    } else if (event.key === "Backspace" && typed === "" && terms.length > 0) {
      show(terms.slice(0, -1));
    }
  };
  return (
    <div class="search" role="search">
      <Icon name="search" />
      {terms.map((term, place) => (
        <span class="pill" key={`${term.operator} ${place}`}>
          <span dir="auto">{labels[place]}</span>
          <IconButton icon="close" label={t("Remove {0}", labels[place])} onClick={() => show(terms.filter((one) => one !== term))} />
        </span>
      ))}
      <input
        ref={field}
        id="search"
        type="text"
        role="combobox"
        aria-label={t("Search messages")}
        aria-expanded={found.length > 0}
        aria-controls={found.length > 0 ? "proposals" : undefined}
        aria-activedescendant={found.length > 0 ? `proposal-${at}` : undefined}
        aria-autocomplete="list"
        autocomplete="off"
        placeholder={terms.length === 0 ? t("Search") : ""}
        value={typed}
        onInput={(event) => {
          setTyped((event.target as HTMLInputElement).value);
          // The focus stays in the field when a pill is taken away.
          setOpen(true);
          setAt(0);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setTimeout(() => document.activeElement !== field.current && setOpen(false), 150)}
        onKeyDown={keys}
      />
      {found.length > 0 && (
        <ul class="completions" id="proposals" role="listbox" aria-label={t("Search suggestions")}>
          {found.map((proposal, place) => (
            <li
              key={`${proposal.label}`}
              id={`proposal-${place}`}
              role="option"
              aria-selected={place === at}
              onMouseDown={(event) => {
                event.preventDefault();
                pick(proposal);
              }}
            >
              {proposal.userId !== undefined ? <Avatar userId={proposal.userId} size={22} /> : <Icon name="search" />}
              <span class="name">{proposal.label}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

// Who can join: the addresses that are taken, and when a new member counts as a full one.
import { useState } from "preact/hooks";
import { useStore } from "../app/app";
import { attempt } from "../app/actions";
import { request } from "../transport/api";
import { role } from "../store/select";
import type { Domain } from "../store/types";
import { Field, Switch } from "../widgets/controls";
import { t } from "../text/language";

const change = (name: string, value: unknown) => void attempt(request("PATCH", "realm", { [name]: value }), t("Saved."));

export function JoiningSection() {
  const realm = useStore((state) => state.realm);
  const isLocked = useStore(role) > 100;
  const days = Number(realm["realm_waiting_period_threshold"] ?? 0);
  return (
    <>
      {isLocked && <p class="notice">{t("Only owners change this.")}</p>}
      <fieldset class="plain-set" disabled={isLocked}>
        <Switch
          label={t("Only addresses of the domains below")}
          checked={realm["realm_emails_restricted_to_domains"] === true}
          onChange={(is) => change("emails_restricted_to_domains", is)}
        />
        <Switch
          label={t("No addresses of services that give them away for a short time")}
          checked={realm["realm_disallow_disposable_email_addresses"] === true}
          onChange={(is) => change("disallow_disposable_email_addresses", is)}
        />
        <Days key={days} days={days} />
      </fieldset>
      <h3>{t("Domains")}</h3>
      <Domains />
    </>
  );
}

/** What is typed stays while other things of the page change; it is saved when the field is left. */
function Days({ days }: { days: number }) {
  const [typed, setTyped] = useState(String(days));
  return (
    <Field label={t("Days until a member is a full member")} hint={t("0 makes everyone a full member at once.")}>
      <input
        type="number"
        min={0}
        value={typed}
        onInput={(event) => setTyped((event.target as HTMLInputElement).value)}
        onChange={() => change("waiting_period_threshold", Number(typed))}
      />
    </Field>
  );
}

function Domains() {
  const domains = useStore((state) => state.domains);
  const [name, setName] = useState("");
  const [withSubdomains, setWithSubdomains] = useState(false);
  const add = async (event: Event) => {
    event.preventDefault();
    const params = { domain: name.trim(), allow_subdomains: withSubdomains };
    if (await attempt(request("POST", "realm/domains", params), t("Domain added."))) setName("");
  };
  return (
    <>
      <ul class="people-list all">
        {domains.map((domain) => (
          <DomainRow key={domain.domain} domain={domain} />
        ))}
      </ul>
      {domains.length === 0 && <p class="muted">{t("There are no domains yet.")}</p>}
      <form onSubmit={add}>
        <Field label={t("New domain")} hint={t("For example example.org")}>
          <input required value={name} onInput={(event) => setName((event.target as HTMLInputElement).value)} />
        </Field>
        <Switch label={t("With its subdomains")} checked={withSubdomains} onChange={setWithSubdomains} />
        <footer>
          <button type="submit" class="primary">{t("Add domain")}</button>
        </footer>
      </form>
    </>
  );
}

function DomainRow({ domain: { domain, allow_subdomains } }: { domain: Domain }) {
  const path = `realm/domains/${encodeURIComponent(domain)}`;
  return (
    <li>
      <span>{domain}</span>
      <Switch
        label={t("With subdomains of {0}", domain)}
        checked={allow_subdomains}
        onChange={(is) => void attempt(request("PATCH", path, { allow_subdomains: is }), t("Saved."))}
      />
      <button
        type="button"
        class="danger"
        aria-label={t("Remove {0}", domain)}
        onClick={() => void attempt(request("DELETE", path), t("Removed."))}
      >{t("Remove")}</button>
    </li>
  );
}

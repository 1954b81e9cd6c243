//! A browser without script: it keeps cookies, follows redirects as far as the server's own pages, and
//! sends the forms it was given.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::world::{Answer, BASE, Call, World};

/// Most redirects in a row.
const REDIRECTS_MAX: usize = 10;

/// One person's browser.
pub(crate) struct Browser<'a> {
    world: &'a World,
    pub(crate) cookies: RefCell<BTreeMap<String, String>>,
}

/// Where the browser is now.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) answer: Answer,
    /// Path and query of the page; the whole address where it left for an app.
    pub(crate) at: String,
    /// Whether the last redirect leads elsewhere.
    pub(crate) left: bool,
}

/// A form, as it is when nobody has touched it.
#[derive(Debug, Clone)]
pub(crate) struct HtmlForm {
    method: String,
    pub(crate) action: String,
    inputs: Vec<Input>,
}

#[derive(Debug, Clone)]
struct Input {
    name: String,
    value: String,
    /// Whether it is sent.
    on: bool,
    kind: String,
}

impl<'a> Browser<'a> {
    pub(crate) fn new(world: &'a World) -> Self {
        Self { world, cookies: RefCell::default() }
    }

    /// Goes to an address and on from there.
    pub(crate) async fn open(&self, address: &str) -> Page {
        self.follow(address, self.get(address).await).await
    }

    /// One GET, not followed.
    pub(crate) async fn get(&self, address: &str) -> Answer {
        self.send(self.world.get(path(address))).await
    }

    /// Sends a form as the page's own button does, and goes on from there.
    pub(crate) async fn submit(&self, form: &HtmlForm) -> Page {
        let answer = self.post(form).await;
        self.follow(&form.action, answer).await
    }

    /// Sends a form; the answer is not followed.
    pub(crate) async fn post(&self, form: &HtmlForm) -> Answer {
        let fields = form.fields();
        let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let call = self.world.post(&form.action).header("origin", "null").header("sec-fetch-site", "same-origin");
        self.send(call.form(&fields)).await
    }

    /// Sends a request with the cookies, and keeps what comes back.
    pub(crate) async fn send(&self, call: Call<'_>) -> Answer {
        let cookies = self.cookies.borrow().iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
        let call = if cookies.is_empty() { call } else { call.header("cookie", &cookies.join("; ")) };
        let answer = call.send().await;
        for set in answer.headers.get_all("set-cookie") {
            let set = set.to_str().unwrap();
            let (name, value) = set.split(';').next().unwrap().split_once('=').unwrap();
            if set.contains("Max-Age=0") {
                self.cookies.borrow_mut().remove(name);
            } else {
                self.cookies.borrow_mut().insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    async fn follow(&self, from: &str, mut answer: Answer) -> Page {
        let mut at = path(from).to_owned();
        for _ in 0..REDIRECTS_MAX {
            if !answer.status.is_redirection() {
                return Page { answer, at, left: false };
            }
            assert_eq!(answer.status, 303, "{answer:?}");
            let location = answer.header("location").to_owned();
            if !(location.starts_with('/') || location.starts_with(&format!("{BASE}/"))) {
                return Page { answer, at: location, left: true };
            }
            path(&location).clone_into(&mut at);
            answer = self.get(&at).await;
        }
        panic!("redirected without end: {at}");
    }
}

fn path(address: &str) -> &str {
    address.strip_prefix(BASE).unwrap_or(address)
}

impl Page {
    pub(crate) fn html(&self) -> &str {
        &self.answer.text
    }

    /// The path without its query.
    pub(crate) fn path(&self) -> &str {
        self.at.split('?').next().unwrap()
    }

    /// What the page is called, without the organization.
    pub(crate) fn title(&self) -> String {
        let rest = self.html().split_once("<title>").unwrap().1;
        text(rest.split_once(" – ").unwrap().0)
    }

    /// The form that posts to `action`.
    pub(crate) fn form(&self, action: &str) -> HtmlForm {
        let mut forms = forms(self.html()).into_iter();
        forms
            .find(|form| form.action == action && form.method == "post")
            .unwrap_or_else(|| panic!("no form {action}: {self:?}"))
    }

    /// A parameter of the query it is at.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let query = self.at.split_once('?')?.1;
        form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }
}

impl HtmlForm {
    /// Types into a field, or changes what a hidden one holds.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        let input = self.inputs.iter_mut().find(|input| input.name == name);
        let input = input.unwrap_or_else(|| panic!("no field {name}"));
        value.clone_into(&mut input.value);
        self
    }

    /// Sends it elsewhere.
    pub(crate) fn to(self, action: &str) -> Self {
        Self { action: action.to_owned(), ..self }
    }

    /// Takes a field out, as no page does.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.inputs.retain(|input| input.name != name);
        self
    }

    /// Presses a button, or chooses among radio buttons.
    pub(crate) fn choose(mut self, name: &str, value: &str) -> Self {
        let mut found = false;
        for input in self.inputs.iter_mut().filter(|input| input.name == name) {
            input.on = input.value == value;
            found |= input.on;
        }
        assert!(found, "no {name}={value} in {self:?}");
        self
    }

    /// Leaves only these ticks of a group of checkboxes.
    pub(crate) fn tick_only(mut self, name: &str, values: &[&str]) -> Self {
        for input in self.inputs.iter_mut().filter(|input| input.name == name && input.kind == "checkbox") {
            input.on = values.contains(&input.value.as_str());
        }
        self
    }

    /// The values of the checkboxes of a name that are ticked.
    pub(crate) fn ticked(&self, name: &str) -> Vec<&str> {
        let ticked = self.inputs.iter().filter(|input| input.name == name && input.kind == "checkbox" && input.on);
        ticked.map(|input| input.value.as_str()).collect()
    }

    /// The values that are offered under a name.
    pub(crate) fn offered(&self, name: &str) -> Vec<&str> {
        self.inputs.iter().filter(|input| input.name == name).map(|input| input.value.as_str()).collect()
    }

    /// The value of the first field of a name.
    pub(crate) fn value(&self, name: &str) -> &str {
        &self.inputs.iter().find(|input| input.name == name).unwrap_or_else(|| panic!("no field {name}")).value
    }

    fn fields(&self) -> Vec<(String, String)> {
        let sent = self.inputs.iter().filter(|input| input.on && !input.name.is_empty());
        sent.map(|input| (input.name.clone(), input.value.clone())).collect()
    }
}

fn forms(html: &str) -> Vec<HtmlForm> {
    let mut forms: Vec<HtmlForm> = Vec::new();
    for (tag, attributes) in tags(html) {
        let get = |name: &str| attributes.get(name).cloned().unwrap_or_default();
        let kind = get("type");
        match (tag.as_str(), forms.last_mut()) {
            ("form", _) => forms.push(HtmlForm { method: get("method"), action: get("action"), inputs: Vec::new() }),
            ("input" | "button", Some(form)) => {
                let on = match kind.as_str() {
                    "checkbox" | "radio" => attributes.contains_key("checked"),
                    "submit" => false,
                    _ => true,
                };
                form.inputs.push(Input { name: get("name"), value: get("value"), on, kind });
            }
            _ => {}
        }
    }
    forms
}

/// The opening tags of a page with their attributes. Attributes are quoted here, always.
pub(crate) fn tags(html: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let mut tags = Vec::new();
    let mut rest = html;
    while let Some((_, after)) = rest.split_once('<') {
        let end = after.find(|c: char| c.is_whitespace() || c == '>').unwrap();
        let (name, mut inside) = after.split_at(end);
        let mut attributes = BTreeMap::new();
        loop {
            inside = inside.trim_start();
            if let Some(after) = inside.strip_prefix('>') {
                rest = after;
                break;
            }
            let end = inside.find(|c: char| c == '=' || c == '>' || c.is_whitespace()).unwrap();
            let (attribute, after) = inside.split_at(end);
            inside = after;
            let mut value = "";
            if let Some(quoted) = after.strip_prefix("=\"") {
                (value, inside) = quoted.split_once('"').unwrap();
            }
            attributes.insert(attribute.to_owned(), text(value));
        }
        tags.push((name.to_owned(), attributes));
    }
    tags
}

/// What escaped text says.
pub(crate) fn text(escaped: &str) -> String {
    let mut said = String::new();
    let mut rest = escaped;
    while let Some((before, after)) = rest.split_once("&#") {
        let (number, after) = after.split_once(';').unwrap();
        said.push_str(before);
        said.push(char::from_u32(number.parse().unwrap()).unwrap());
        rest = after;
    }
    said.push_str(rest);
    said
}

//! Which address takes which method, and what each operation of the API says of itself.
//!
//! An operation of the API cannot be listed without saying what it does and what it answers; what it takes its
//! parameters say themselves. The description of the API is made of this list ([`crate::describe`]), when somebody asks
//! for it: a request is routed as if nothing was said.

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter};

use crate::params::Declared;
use crate::schema::Member;
use crate::state::App;

/// Where the API is.
pub(crate) const API: &str = "/api/v1";
/// Where browsers that are signed in find the API once more.
pub(crate) const JSON_API: &str = "/json";

/// The paths of an area.
///
/// They are put together once. A router inside a router would take the start off the address of every request, and
/// write a new one for it.
pub(crate) struct Routes {
    area: &'static str,
    router: Router<App>,
    operations: Vec<Operation>,
}

impl Routes {
    /// An area of that name without paths.
    pub(crate) fn of(area: &'static str) -> Self {
        Self { area, router: Router::new(), operations: Vec::new() }
    }

    /// Adds a path of the API, as it is below [`API`] and below [`JSON_API`].
    pub(crate) fn api(self, path: &'static str, methods: Methods) -> Self {
        let Self { area, router, mut operations } = self;
        let said = methods.said.into_iter().map(|(method, saying)| Operation { method, path, area, saying });
        operations.extend(said);
        let router = router.route(&format!("{JSON_API}{path}"), methods.router.clone());
        Self { area, router: router.route(&format!("{API}{path}"), methods.router), operations }
    }

    /// Adds a path outside the API.
    pub(crate) fn route(self, path: &str, methods: MethodRouter<App>) -> Self {
        Self { router: self.router.route(path, methods), ..self }
    }

    /// Adds the paths of another area.
    pub(crate) fn merge(self, other: Self) -> Self {
        let Self { area, router, mut operations } = self;
        operations.extend(other.operations);
        Self { area, router: router.merge(other.router), operations }
    }

    /// Returns the routes alone.
    pub(crate) fn into_router(self) -> Router<App> {
        self.router
    }

    /// Returns the operations of the API alone.
    pub(crate) fn into_operations(self) -> Vec<Operation> {
        self.operations
    }
}

/// A method at a path of the API.
pub(crate) struct Operation {
    /// The method, in small letters.
    pub(crate) method: &'static str,
    /// The path below [`API`], with the names of what differs in it.
    pub(crate) path: &'static str,
    /// Which area it is in.
    pub(crate) area: &'static str,
    /// What it says of itself.
    pub(crate) saying: Saying,
}

/// What an operation says of itself.
#[derive(Clone, Copy)]
pub(crate) struct Saying {
    /// What it does, in one sentence.
    pub(crate) summary: &'static str,
    /// Its parameters.
    pub(crate) parameters: fn() -> Vec<Declared>,
    /// What it answers beside the envelope.
    pub(crate) answer: fn() -> Vec<Member>,
    /// Whether it asks who calls.
    pub(crate) needs_account: bool,
    /// Whether it takes a file in its form.
    pub(crate) takes_file: bool,
    /// Whether its answer is a document of its own, without the envelope.
    pub(crate) is_document: bool,
    /// What differs in its path and is no number, with what that is.
    pub(crate) texts: &'static [(&'static str, &'static str)],
}

impl Saying {
    /// Of an operation without files and texts in its path.
    pub(crate) const fn new(
        summary: &'static str,
        parameters: fn() -> Vec<Declared>,
        answer: fn() -> Vec<Member>,
        needs_account: bool,
    ) -> Self {
        Self { summary, parameters, answer, needs_account, takes_file: false, is_document: false, texts: &[] }
    }
}

/// A handler and what it says of itself.
pub(crate) struct Said<H> {
    handler: H,
    saying: Saying,
}

impl<H> Said<H> {
    /// Returns what `handler` says of itself.
    pub(crate) const fn new(handler: H, saying: Saying) -> Self {
        Self { handler, saying }
    }

    /// It takes a file in its form.
    pub(crate) fn with_file(mut self) -> Self {
        self.saying.takes_file = true;
        self
    }

    /// Its answer is a document without the envelope.
    pub(crate) fn outside_envelope(mut self) -> Self {
        self.saying.is_document = true;
        self
    }

    /// In its path these are texts, and not numbers.
    pub(crate) fn by(mut self, texts: &'static [(&'static str, &'static str)]) -> Self {
        self.saying.texts = texts;
        self
    }
}

/// Returns the answer of operations that tell nothing beside the envelope.
pub(crate) const fn nothing() -> Vec<Member> {
    Vec::new()
}

/// The methods of a path.
pub(crate) struct Methods {
    router: MethodRouter<App>,
    said: Vec<(&'static str, Saying)>,
}

/// `GET`, and with it `HEAD`.
pub(crate) fn get(said: Said<impl Handler<(), App>>) -> Methods {
    Methods::new().get(said)
}

/// `POST`.
pub(crate) fn post(said: Said<impl Handler<(), App>>) -> Methods {
    Methods::new().post(said)
}

/// `PATCH`.
pub(crate) fn patch(said: Said<impl Handler<(), App>>) -> Methods {
    Methods::new().patch(said)
}

/// `DELETE`.
pub(crate) fn delete(said: Said<impl Handler<(), App>>) -> Methods {
    Methods::new().delete(said)
}

impl Methods {
    fn new() -> Self {
        Self { router: MethodRouter::new(), said: Vec::new() }
    }

    /// `GET` too, and with it `HEAD`.
    pub(crate) fn get(self, said: Said<impl Handler<(), App>>) -> Self {
        self.on((MethodFilter::GET, "get"), said)
    }

    /// `POST` too.
    pub(crate) fn post(self, said: Said<impl Handler<(), App>>) -> Self {
        self.on((MethodFilter::POST, "post"), said)
    }

    /// `PUT` too.
    pub(crate) fn put(self, said: Said<impl Handler<(), App>>) -> Self {
        self.on((MethodFilter::PUT, "put"), said)
    }

    /// `PATCH` too.
    pub(crate) fn patch(self, said: Said<impl Handler<(), App>>) -> Self {
        self.on((MethodFilter::PATCH, "patch"), said)
    }

    /// `DELETE` too.
    pub(crate) fn delete(self, said: Said<impl Handler<(), App>>) -> Self {
        self.on((MethodFilter::DELETE, "delete"), said)
    }

    fn on(mut self, (filter, name): (MethodFilter, &'static str), said: Said<impl Handler<(), App>>) -> Self {
        self.said.push((name, said.saying));
        Self { router: self.router.on(filter, said.handler), said: self.said }
    }
}

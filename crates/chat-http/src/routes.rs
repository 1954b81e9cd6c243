//! Which path takes which method, and the documentation of each operation of the API.
//!
//! An operation of the API cannot be listed without saying what it does and what it answers; what it takes its
//! parameters say themselves. The description of the API is made of this list ([`crate::openapi`]), when a client asks
//! for it: a request is routed as if nothing was said.

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter};

use crate::json_schema::SchemaMember;
use crate::params::ParamDeclaration;
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
    operations: Vec<ApiOperation>,
}

impl Routes {
    /// An area of that name without paths.
    pub(crate) fn of(area: &'static str) -> Self {
        Self { area, router: Router::new(), operations: Vec::new() }
    }

    /// Adds a path of the API, as it is below [`API`] and below [`JSON_API`].
    pub(crate) fn api(self, path: &'static str, methods: Methods) -> Self {
        let Self { area, router, mut operations } = self;
        let documented = methods.documented.into_iter().map(|(method, doc)| ApiOperation { method, path, area, doc });
        operations.extend(documented);
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
    pub(crate) fn into_operations(self) -> Vec<ApiOperation> {
        self.operations
    }
}

/// A method at a path of the API.
pub(crate) struct ApiOperation {
    /// The method, in small letters.
    pub(crate) method: &'static str,
    /// The path below [`API`], with the names of what differs in it.
    pub(crate) path: &'static str,
    /// Which area it is in.
    pub(crate) area: &'static str,
    /// Its documentation.
    pub(crate) doc: OperationDoc,
}

/// The documentation of an operation.
#[derive(Clone, Copy)]
pub(crate) struct OperationDoc {
    /// What it does, in one sentence.
    pub(crate) summary: &'static str,
    /// Its parameters.
    pub(crate) parameters: fn() -> Vec<ParamDeclaration>,
    /// What it answers beside the envelope.
    pub(crate) answer: fn() -> Vec<SchemaMember>,
    /// Whether it asks who calls.
    pub(crate) needs_account: bool,
    /// Whether it takes a file in its form.
    pub(crate) takes_file: bool,
    /// Whether its answer is a document of its own, without the envelope.
    pub(crate) is_document: bool,
    /// What differs in its path and is no number, with what that is.
    pub(crate) texts: &'static [(&'static str, &'static str)],
}

impl OperationDoc {
    /// The documentation of an operation without files and texts in its path.
    pub(crate) const fn new(
        summary: &'static str,
        parameters: fn() -> Vec<ParamDeclaration>,
        answer: fn() -> Vec<SchemaMember>,
        needs_account: bool,
    ) -> Self {
        Self { summary, parameters, answer, needs_account, takes_file: false, is_document: false, texts: &[] }
    }
}

/// A handler with its documentation.
pub(crate) struct DocumentedHandler<H> {
    handler: H,
    doc: OperationDoc,
}

impl<H> DocumentedHandler<H> {
    /// A handler with its documentation.
    pub(crate) const fn new(handler: H, doc: OperationDoc) -> Self {
        Self { handler, doc }
    }

    /// It takes a file in its form.
    pub(crate) fn with_file(mut self) -> Self {
        self.doc.takes_file = true;
        self
    }

    /// Its answer is a document without the envelope.
    pub(crate) fn outside_envelope(mut self) -> Self {
        self.doc.is_document = true;
        self
    }

    /// In its path these are texts, and not numbers.
    pub(crate) fn by(mut self, texts: &'static [(&'static str, &'static str)]) -> Self {
        self.doc.texts = texts;
        self
    }
}

/// Returns the members of a response that has nothing beside the envelope.
pub(crate) const fn no_members() -> Vec<SchemaMember> {
    Vec::new()
}

/// The methods of a path.
pub(crate) struct Methods {
    router: MethodRouter<App>,
    documented: Vec<(&'static str, OperationDoc)>,
}

/// `GET`, and with it `HEAD`.
pub(crate) fn get(documented: DocumentedHandler<impl Handler<(), App>>) -> Methods {
    Methods::new().get(documented)
}

/// `POST`.
pub(crate) fn post(documented: DocumentedHandler<impl Handler<(), App>>) -> Methods {
    Methods::new().post(documented)
}

/// `PATCH`.
pub(crate) fn patch(documented: DocumentedHandler<impl Handler<(), App>>) -> Methods {
    Methods::new().patch(documented)
}

/// `DELETE`.
pub(crate) fn delete(documented: DocumentedHandler<impl Handler<(), App>>) -> Methods {
    Methods::new().delete(documented)
}

impl Methods {
    fn new() -> Self {
        Self { router: MethodRouter::new(), documented: Vec::new() }
    }

    /// `GET` too, and with it `HEAD`.
    pub(crate) fn get(self, documented: DocumentedHandler<impl Handler<(), App>>) -> Self {
        self.on((MethodFilter::GET, "get"), documented)
    }

    /// `POST` too.
    pub(crate) fn post(self, documented: DocumentedHandler<impl Handler<(), App>>) -> Self {
        self.on((MethodFilter::POST, "post"), documented)
    }

    /// `PUT` too.
    pub(crate) fn put(self, documented: DocumentedHandler<impl Handler<(), App>>) -> Self {
        self.on((MethodFilter::PUT, "put"), documented)
    }

    /// `PATCH` too.
    pub(crate) fn patch(self, documented: DocumentedHandler<impl Handler<(), App>>) -> Self {
        self.on((MethodFilter::PATCH, "patch"), documented)
    }

    /// `DELETE` too.
    pub(crate) fn delete(self, documented: DocumentedHandler<impl Handler<(), App>>) -> Self {
        self.on((MethodFilter::DELETE, "delete"), documented)
    }

    fn on(
        mut self,
        (filter, name): (MethodFilter, &'static str),
        documented: DocumentedHandler<impl Handler<(), App>>,
    ) -> Self {
        self.documented.push((name, documented.doc));
        Self { router: self.router.on(filter, documented.handler), documented: self.documented }
    }
}

//! Documents as they come out of the database, also those that cannot be read.
//!
//! The rules let nothing in that cannot be read again, but users' SQL writes past them. One such row
//! must not take the others of its table with it, and never the policies of the whole deployment.

use serde_json::Value;
use sqlx::types::Json;
use sqlx::{Database, Decode, Type};

/// A column that holds a document, `None` when what it holds is none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document(pub(crate) Option<Value>);

impl<D: Database> Type<D> for Document
where
    Json<Value>: Type<D>,
{
    fn type_info() -> D::TypeInfo {
        <Json<Value> as Type<D>>::type_info()
    }

    fn compatible(info: &D::TypeInfo) -> bool {
        <Json<Value> as Type<D>>::compatible(info)
    }
}

impl<'r, D: Database> Decode<'r, D> for Document
where
    Json<Value>: Decode<'r, D>,
{
    fn decode(column: D::ValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
        Ok(Self(Json::<Value>::decode(column).ok().map(|Json(document)| document)))
    }
}

/// A column that holds the text of a document, `None` when what it holds is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentText(pub(crate) Option<String>);

impl<D: Database> Type<D> for DocumentText
where
    String: Type<D>,
{
    fn type_info() -> D::TypeInfo {
        <String as Type<D>>::type_info()
    }

    fn compatible(info: &D::TypeInfo) -> bool {
        <String as Type<D>>::compatible(info)
    }
}

impl<'r, D: Database> Decode<'r, D> for DocumentText
where
    String: Decode<'r, D>,
{
    fn decode(column: D::ValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
        Ok(Self(String::decode(column).ok()))
    }
}

impl Document {
    /// Returns the document, of which `null` is none; when there is none, a line in the log says whose it would be.
    pub(crate) fn read(self, kind: &str, id: &str) -> Option<Value> {
        let document = self.0.filter(|document| !document.is_null());
        if document.is_none() {
            tracing::error!(kind, id, "a stored resource cannot be read and is passed over");
        }
        document
    }
}

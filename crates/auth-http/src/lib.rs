//! The authorization server's wire: routes, forms, error table.

//! The layers around endpoints, with endpoints made for the purpose and with the real routes.

mod test_router;

mod basic;
mod envelope;
mod logging;
mod methods;
mod parameters;
mod rates;
mod settings;

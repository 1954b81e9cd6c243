//! The frame around endpoints, with endpoints made for the purpose and with the real routes.

mod world;

mod basic;
mod envelope;
mod methods;
mod parameters;
mod rates;
mod settings;
mod telling;

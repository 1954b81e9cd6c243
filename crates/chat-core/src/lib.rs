//! The chat server's rules without I/O: permissions, rendering, narrows, events as data.

//! SMART App Launch scope strings, v1 and v2: parse, compare, restrict, permit, print.

use super::*;

#[test]
fn a_failure_is_logged_with_all_its_causes() {
    let failure = Failure::new("a row was not written", "disk full");
    assert_eq!(chain(&Fault::from(failure)), "a row was not written: disk full");
}

#[test]
fn a_search_that_takes_too_long_is_refused_as_one_that_would_take_as_long_again() {
    let verdict = Fault::from(StoreError(Box::new(chat_core::TooCostly))).verdict();
    assert_eq!((verdict.status, verdict.code), (StatusCode::BAD_REQUEST, BAD_REQUEST));
    assert!(verdict.text.starts_with("This search takes too long"));
}

#[test]
fn every_parameter_fault_is_400_with_its_own_text() {
    let path = || "narrow[0]".to_owned();
    let faults = [
        (ParamFault::NotAWord { path: path() }, "Invalid narrow[0]"),
        (ParamFault::NotListed { path: path() }, "Invalid narrow[0]: Value error, Not in the list of possible values"),
        (ParamFault::Blank { path: path() }, "narrow[0] cannot be blank"),
        (ParamFault::TooLong { path: path(), limit: 60 }, "narrow[0] is too long (limit: 60 characters)"),
        (ParamFault::TooSmall { path: path() }, "narrow[0] is too small"),
        (ParamFault::TooLarge { path: path() }, "narrow[0] is too large"),
        (ParamFault::KeyMissing { path: path() }, "narrow[0] field is missing: Field required"),
        (
            ParamFault::KeyUnexpected { key: "foo".to_owned(), path: path() },
            "Argument \"foo\" at narrow[0] is unexpected",
        ),
    ];
    for (fault, text) in faults {
        let verdict = Fault::from(fault).verdict();
        assert_eq!((verdict.status, verdict.code, verdict.text.as_str()), (StatusCode::BAD_REQUEST, BAD_REQUEST, text));
    }
}

#[test]
fn parameters_that_exclude_each_other_are_named() {
    let verdict = Fault::from(ParamFault::Incompatible { names: vec!["stream_id", "stream"] }).verdict();
    assert_eq!(verdict.text, "Unsupported parameter combination: stream_id, stream");
    assert_eq!(verdict.body()["parameters"], "stream_id, stream");
}

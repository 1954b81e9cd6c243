use super::*;

#[test]
fn a_failure_is_logged_with_all_its_causes() {
    let failure = InternalError::new("a row was not written", "disk full");
    assert_eq!(chain(&ApiError::from(failure)), "a row was not written: disk full");
}

#[test]
fn a_search_that_takes_too_long_is_refused_as_one_that_would_take_as_long_again() {
    let error_response = ApiError::from(StoreError(Box::new(chat_core::SearchTimeout))).error_response();
    assert_eq!((error_response.status, error_response.code), (StatusCode::BAD_REQUEST, BAD_REQUEST));
    assert!(error_response.text.starts_with("This search takes too long"));
}

#[test]
fn every_parameter_fault_is_400_with_its_own_text() {
    let path = || "narrow[0]".to_owned();
    let errors = [
        (ParamError::NotAWord { path: path() }, "Invalid narrow[0]"),
        (ParamError::NotListed { path: path() }, "Invalid narrow[0]: Value error, Not in the list of possible values"),
        (ParamError::Blank { path: path() }, "narrow[0] cannot be blank"),
        (ParamError::TooLong { path: path(), limit: 60 }, "narrow[0] is too long (limit: 60 characters)"),
        (ParamError::TooSmall { path: path() }, "narrow[0] is too small"),
        (ParamError::TooLarge { path: path() }, "narrow[0] is too large"),
        (ParamError::KeyMissing { path: path() }, "narrow[0] field is missing: Field required"),
        (
            ParamError::KeyUnexpected { key: "foo".to_owned(), path: path() },
            "Argument \"foo\" at narrow[0] is unexpected",
        ),
    ];
    for (error, text) in errors {
        let error_response = ApiError::from(error).error_response();
        assert_eq!(
            (error_response.status, error_response.code, error_response.text.as_str()),
            (StatusCode::BAD_REQUEST, BAD_REQUEST, text)
        );
    }
}

#[test]
fn parameters_that_exclude_each_other_are_named() {
    let error_response =
        ApiError::from(ParamError::Incompatible { names: vec!["stream_id", "stream"] }).error_response();
    assert_eq!(error_response.text, "Unsupported parameter combination: stream_id, stream");
    assert_eq!(error_response.body()["parameters"], "stream_id, stream");
}

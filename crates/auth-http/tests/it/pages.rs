//! What holds for every page: its frame, its looks, its refusals.

use crate::world::World;

#[tokio::test]
async fn a_refusal_where_people_are_is_a_page_with_a_reference() {
    let world = World::new().await;
    for path in ["/auth/login/deeper", "/auth/apps/deeper"] {
        let answer = world.get(path).header("x-request-id", "seen-in-the-log").send().await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("content-type")),
            (404, "text/html; charset=utf-8"),
            "{path}"
        );
        assert_eq!(answer.header("cache-control"), "no-store");
        assert!(
            answer.text.contains("<html lang=\"en\">") && answer.text.contains("seen-in-the-log"),
            "{}",
            answer.text
        );
    }
    world.end().await;
}

#[tokio::test]
async fn the_stylesheet_is_kept_for_ever_under_the_name_of_its_content() {
    let world = World::new().await;
    let page = world.get("/auth/login/deeper").send().await.text;
    let path = page.split_once("rel=\"stylesheet\" href=\"").unwrap().1.split('"').next().unwrap();
    let sheet = world.get(path).send().await;
    assert_eq!(sheet.header("content-type"), "text/css; charset=utf-8");
    assert_eq!(sheet.header("cache-control"), "public, max-age=31536000, immutable");
    let again = world.get(path).header("if-none-match", sheet.header("etag")).send().await;
    assert_eq!((again.status.as_u16(), again.length), (304, 0));
    assert_eq!(world.get("/auth/style/other.css").send().await.oauth_error().0, 404);
    world.end().await;
}

//! Relative links in the pages of the repository lead to a file or folder that is there, and to a heading that it has.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Result;

use xtask::workspace::Workspace;

use super::Finding;

/// The texts of all pages, by path from the root of the checkout.
type Pages = BTreeMap<PathBuf, String>;

/// Reads every Markdown page of the checkout.
///
/// # Errors
/// When git cannot list the files.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let mut pages = Pages::new();
    for path in workspace.files()? {
        let is_page = path.extension().is_some_and(|extension| extension == "md");
        if let (true, Ok(text)) = (is_page, fs::read_to_string(&path)) {
            pages.insert(PathBuf::from(workspace.shown(&path).to_string()), text);
        }
    }
    Ok(broken(&pages, |path| workspace.root.join(path).exists()))
}

/// Returns the links that lead nowhere.
fn broken(pages: &Pages, exists: impl Fn(&Path) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (page, text) in pages {
        for (number, line) in prose(text) {
            for target in targets(line).filter(|target| is_relative(target)) {
                if let Some(reason) = reason_broken(page, target, pages, &exists) {
                    findings.push(Finding::error(format!("{}:{number}", page.display()), reason));
                }
            }
        }
    }
    findings
}

/// Returns the lines of a page outside of code blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Returns the targets of the links and pictures of a line: `[text](target)`, `[name]: target`, `src="target"`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let code_free = line.split('`').step_by(2);
    let inline = code_free.flat_map(|part| {
        let links = part.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        let attributes = [" src=\"", " href=\""].into_iter().flat_map(|name| part.split(name).skip(1));
        links.chain(attributes.filter_map(|rest| rest.split('"').next()))
    });
    let definition = line.starts_with('[').then(|| line.split_once("]: ").map(|(_, target)| target.trim())).flatten();
    inline.chain(definition)
}

fn is_relative(target: &str) -> bool {
    let has_scheme = target.split(['/', '#', '?']).next().is_some_and(|start| start.contains(':'));
    !target.is_empty() && !has_scheme && !target.starts_with('/')
}

fn reason_broken(page: &Path, target: &str, pages: &Pages, exists: impl Fn(&Path) -> bool) -> Option<String> {
    let (path, heading) = target.split_once('#').map_or((target, None), |(path, heading)| (path, Some(heading)));
    let file = if path.is_empty() { page.to_owned() } else { normalize(&page.parent()?.join(path)) };
    if !exists(&file) {
        return Some(format!("the link to {target} leads to no file"));
    }
    let (heading, text) = (heading?, pages.get(&file)?);
    let has_heading = prose(text).any(|(_, line)| line.starts_with('#') && anchor(line) == heading);
    (!has_heading).then(|| format!("the link to {target} names no heading of that page"))
}

/// Returns the path without `.` and `..`, for a comparison with the paths of pages.
fn normalize(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut whole, component| {
        match component {
            Component::ParentDir if whole.pop() => {}
            Component::CurDir => {}
            component => whole.push(component),
        }
        whole
    })
}

/// Returns the anchor that a heading gets on the pages of a repository: lower case, hyphens for spaces, no other signs.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().chars().filter_map(|character| match character {
        ' ' => Some('-'),
        '-' | '_' => Some(character),
        _ => character.is_alphanumeric().then_some(character),
    });
    words.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let other = "# Other page\n\n## Keys & `secrets`\n";
        let pages = Pages::from([("docs/a.md".into(), text.to_owned()), ("README.md".into(), other.to_owned())]);
        let exists = |path: &Path| pages.contains_key(path) || path == Path::new("docs/pictures/b.png");
        broken(&pages, exists).into_iter().map(|finding| format!("{}: {}", finding.place, finding.text)).collect()
    }

    #[test]
    fn a_link_leads_to_a_file_and_a_heading_that_are_there() {
        let right = "# Top\n\nSee [it](../README.md), [`there`](../README.md#keys--secrets), [up](#top) and\n\
            ![a picture](pictures/b.png) <a href=\"../README.md\">\n[web]: https://a.example/b.md\n";
        assert_eq!(found(right), Vec::<String>::new());
        assert_eq!(found("\n[it](../READ.md)"), ["docs/a.md:2: the link to ../READ.md leads to no file"]);
        let heading = found("[`it`](../README.md#keys)");
        assert_eq!(heading, ["docs/a.md:1: the link to ../README.md#keys names no heading of that page"]);
        assert_eq!(found("[up](#top)").len(), 1);
        assert_eq!(found("![a picture](c.png)").len(), 1);
        assert_eq!(found("<p><img src=\"c.png\">").len(), 1);
        assert_eq!(found("[it]: c.md").len(), 1);
    }

    #[test]
    fn addresses_and_code_are_no_links() {
        let text = "[a](https://a.example) [m](mailto:a@a.example) `[x](y)`\n```\n[x](y)\n```\n[r](/rooted)";
        assert_eq!(found(text), Vec::<String>::new());
    }
}

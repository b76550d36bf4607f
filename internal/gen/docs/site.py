"""Hook of mkdocs: names the version that the pages describe, adds the pages of the rules to the
navigation, and lets links to files outside of docs/ lead to the repository. Lists of texts are left
out of the search, where they would be found instead of the pages that explain them."""

import os
import pathlib
import re

# A release, or 0.0.0.dev0 for other commits.
VERSION = os.environ.get("COMPAT_VERSION", "0.0.0.dev0")
RELEASED = ".dev" not in VERSION
OUTSIDE = re.compile(r"\]\((?:\.\./)+([^)#]+)(#[^)]*)?\)")


def on_config(config):
    config.site_name += " " + VERSION if RELEASED else " (not released)"
    docs = pathlib.Path(config.docs_dir)
    pages = ["rules/" + p.name for p in sorted(docs.glob("rules/*.md"))]
    reference = next(part["Reference"] for part in config.nav if "Reference" in part)
    reference[-1] = {"Rules": ["rules/README.md"] + [p for p in pages if p != "rules/README.md"]}
    return config


def on_page_markdown(markdown, page, config, files):
    if page.file.src_uri in ("messages.md", "stories.md"):
        page.meta["search"] = {"exclude": True}
    root = pathlib.Path(config.docs_dir).resolve()

    def link(found):
        target = (root / page.file.src_uri).parent / found[0][2 : found[0].find(")")].split("#")[0]
        target = target.resolve()
        if target.is_relative_to(root):
            return found[0]
        if not target.exists():
            raise FileNotFoundError(f"{page.file.src_uri} links {target}, which does not exist")
        path = target.relative_to(root.parent)
        at = "v" + VERSION if RELEASED else "main"
        return f"]({config.repo_url}/blob/{at}/{path}{found[2] or ''})"

    return OUTSIDE.sub(link, markdown)

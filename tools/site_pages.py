"""A hook of mkdocs (mkdocs.yml): pages of lab/docs are pages of the site, beside those of docs."""
import pathlib
import re

from mkdocs.structure.files import File

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "lab" / "docs"


def on_files(files, config):
    for path in sorted(FOLDER.glob("*.md")):
        files.append(File(path.name, str(FOLDER), config["site_dir"], config["use_directory_urls"]))
    return files


def on_page_markdown(markdown, **_):
    """Links between the two folders, which are one in the site."""
    return re.sub(r"\]\((?:\.\./lab/docs|\.\./\.\./docs)/", "](", markdown)

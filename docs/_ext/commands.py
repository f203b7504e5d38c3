"""The directive `command`: what a command does and its options, as the program itself says them."""

import typer
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from subsvms.app.cli.main import app as program


class Command(Directive):
    """Usage, description, options in their groups, and the example of one command of `subsvms`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Make the nodes that stand in the page."""
        name = self.arguments[0]
        command = typer.main.get_command(program).commands[name]
        context = typer.Context(command, info_name=f"subsvms {name}")
        usage = nodes.literal_block("", command.get_usage(context).removeprefix("Usage: "), language="text")
        made = [usage, *(nodes.paragraph("", text) for text in command.help.split("\n\n"))]
        groups: dict[str, nodes.definition_list] = {}
        for parameter in command.params:
            if getattr(parameter, "hidden", False):
                continue
            words, meaning = parameter.get_help_record(context)
            title = parameter.rich_help_panel or ("Options" if words.startswith("-") else "Argument")
            term = nodes.term("", "", nodes.literal("", words))
            item = nodes.definition_list_item("", term, nodes.definition("", nodes.paragraph("", meaning)))
            groups.setdefault(title, nodes.definition_list(classes=["options"])).append(item)
        for title, items in groups.items():
            made += [nodes.rubric("", title), items]
        example = nodes.literal("", command.epilog.removeprefix("Example: "))
        return [*made, nodes.paragraph("", "Example: ", example)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directive known."""
    app.add_directive("command", Command)
    return {"parallel_read_safe": True}

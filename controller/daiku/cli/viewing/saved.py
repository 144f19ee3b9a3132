"""A saved cluster that is looked at: a snapshot, or any list of objects."""

from collections.abc import Sequence

from daiku import events
from daiku.api import configuration, manifests
from daiku.cli.viewing import rows
from daiku.cli.viewing.ledger import Ledger
from daiku.model.instance_type import Catalogue


def of_documents(
    documents: Sequence[manifests.Document], problems: list[str]
) -> tuple[Ledger, rows.PriceOf]:
    """Nodes and prices of a saved cluster.

    Args:
        documents: Its objects.
        problems: Takes a line for each that cannot be used.
    """
    found = configuration.build(documents, problems)
    ledger = Ledger()
    for each in found.objects:
        ledger.apply(events.Seen(each))
    return ledger, rows.price_table(Catalogue(version=1, instance_types=found.offered))

"""A support desk: it looks an order up, asks the customer what to do, and does it."""

import json
import os
import tempfile
import uuid
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from turnwright import Agent, ToolContext, ToolError, tool

ORDERS = Path(__file__).parent / "data" / "orders.json"
CASES = Path(
    os.environ.get("SUPPORT_CASES", Path(tempfile.gettempdir()) / "turnwright-support-cases.jsonl")
)
"""Where the desk writes down what it promised, a line each."""


class Order(BaseModel):
    """An order, as the shop's data has it."""

    order_id: str
    item: str
    price: str
    status: Literal["delivered", "in transit", "lost"]
    carrier: str
    last_seen: str


@tool(name="orders.lookup", repeatable=True)
def lookup(order_id: str) -> Order:
    """Look an order up: what was ordered, and where it is.

    Args:
        order_id: The number on the receipt, such as A-1042.
    """
    for order in json.loads(ORDERS.read_text(encoding="utf-8")):
        if order["order_id"] == order_id.strip().upper():
            return Order.model_validate(order)
    raise ToolError(f"There is no order {order_id}. Ask the customer to check the number.")


@tool(name="orders.resolve")
def resolve(
    order_id: str, resolution: Literal["resend", "refund"], call: ToolContext
) -> dict[str, str]:
    """Settle a lost order, as the customer decided. It cannot be taken back.

    Args:
        order_id: The number on the receipt.
        resolution: Whether to send the item again or to give the money back.
        call: Filled in by the runtime; models do not see it.
    """
    order = lookup(order_id)
    if order.status != "lost":
        raise ToolError(f"Order {order.order_id} is {order.status}: there is nothing to settle.")
    # The same call gives the same reference, however often it is attempted.
    reference = f"CS-{uuid.uuid5(uuid.NAMESPACE_OID, call.run_id + call.tool_call_id).hex[:8]}"
    case = {"reference": reference, "order_id": order.order_id, "resolution": resolution}
    with CASES.open("a", encoding="utf-8") as cases:
        cases.write(json.dumps(case) + "\n")
    promise = {
        "resend": f"Another {order.item} leaves our warehouse tomorrow.",
        "refund": f"You get {order.price} back within five working days.",
    }
    return case | {"promise": promise[resolution]}


support = Agent(
    name="support",
    description="Answers customers who ask about their orders.",
    model="scripted:examples/support.json",
    instructions=(
        "You are the support desk of a small shop. Look an order up before you say anything about "
        "it. If it is lost, ask the customer whether to resend or to refund, and settle it the way "
        "they chose. Be brief and kind, and never promise what no tool has confirmed."
    ),
    tools=[lookup, resolve],
    can_ask_user=True,
)

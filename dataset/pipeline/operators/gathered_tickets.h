// Tickets that stand for several tickets of an operator's inputs: batch's rows, zip's members.
#pragma once

#include <vector>

#include "dataset/pipeline/engine/ref_store.h"
#include "recordpipe/internal/ticket.h"

namespace recordpipe::internal {

using TicketGroup = std::vector<Ticket>;
// Shared by the plan, which gathers groups, and its producers, which take them apart.
using GatheredTickets = RefStore<TicketGroup>;

}  // namespace recordpipe::internal

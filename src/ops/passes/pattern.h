// What passes ask that look for arithmetic which exporters write for one operator.
#pragma once

#include <optional>
#include <string_view>

#include "ops/passes/edit.h"

namespace trainyard::passes {

// The other operand of a node of two inputs, if `known` is one of them; kNoValue otherwise.
ValueId beside(const NodeView& node, ValueId known);

// Wide enough for constants written with five digits, or rounded to 16 bits; with others it is
// another function.
bool is_near(double number, double expected);

// The one number that a value is known to be.
std::optional<double> number_of(const Graph& graph, ValueId id);
bool is_number(const Graph& graph, ValueId id, double expected);

// The node of this operator that makes `id`; invalid if another does.
NodeId made_by(const Graph& graph, ValueId id, std::string_view op);

// The only user of a value; invalid if there are more, or the value is a result.
NodeId sole_user(const Graph& graph, ValueId id);

// Uses of the first output of `result` become uses of a new node of the same type.
void replace_by(Graph& graph, NodeId result, std::string_view op, std::vector<ValueId> inputs,
                Attributes attributes = {});

}  // namespace trainyard::passes

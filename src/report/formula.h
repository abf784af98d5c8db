// Formulas: written once in a small part of LaTeX, shown as LaTeX (notebooks, Markdown), MathML
// (pages) and text (terminals).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::report {

// A row of parts. What a source may have: letters, numbers (with commas between thousands),
// operators, {groups}, _ and ^, \frac{}{}, \sqrt{}, \text{}, \left and \right (which change
// nothing), Greek letters and the operators that formula.cpp lists.
class Formula {
 public:
  // Throws Error that names the place for a command that is not known or a brace without its other.
  explicit Formula(std::string_view source);

  std::string latex() const;   // without the dollars around it
  std::string mathml() const;  // a <math> element, as a block
  std::string text() const;    // one line; fractions with a slash

  struct Part;

 private:
  std::vector<std::shared_ptr<const Part>> parts_;
};

}  // namespace trainyard::report

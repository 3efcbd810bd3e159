//===- LfAttrs.cpp - Layouts and roles as text ------------------*- C++ -*-===//
//
// Parsing, printing and verification of the attributes; conversion from and to the plain C++ core.
//
//===----------------------------------------------------------------------===//
#include "lf/Dialect/Lf.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::lf;

/// {cp, tp}
static ParseResult parseAxes(AsmParser &parser, ArrayAttr &axes) {
  SmallVector<Attribute> list;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&]() -> ParseResult {
        std::string axis;
        if (parser.parseKeywordOrString(&axis))
          return failure();
        list.push_back(StringAttr::get(parser.getContext(), axis));
        return success();
      }))
    return failure();
  axes = ArrayAttr::get(parser.getContext(), list);
  return success();
}

static void printAxes(AsmPrinter &printer, ArrayAttr axes) {
  printer << '{';
  llvm::interleaveComma(axes, printer, [&](Attribute axis) { printer.printKeywordOrString(cast<StringAttr>(axis).getValue()); });
  printer << '}';
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  MLIRContext *context = parser.getContext();
  SmallVector<Attribute> dims;
  ArrayAttr empty = ArrayAttr::get(context, {}), partial = empty, flat = empty, closed = empty;
  bool isMax = false;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
        ArrayAttr axes;
        if (parseAxes(parser, axes))
          return failure();
        dims.push_back(axes);
        return success();
      }))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("partial"))) {
      if (succeeded(parser.parseOptionalKeyword("max")))
        isMax = true;
      else if (parser.parseKeyword("sum"))
        return {};
      if (parseAxes(parser, partial))
        return {};
    } else if (succeeded(parser.parseOptionalKeyword("flat"))) {
      if (parseAxes(parser, flat))
        return {};
    } else if (succeeded(parser.parseOptionalKeyword("closed"))) {
      if (parseAxes(parser, closed))
        return {};
    } else {
      parser.emitError(parser.getCurrentLocation(), "expected \"partial\", \"flat\" or \"closed\"");
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return LayoutAttr::getChecked([&] { return parser.emitError(loc); }, context, ArrayAttr::get(context, dims), partial, isMax, flat, closed);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](Attribute dim) { printAxes(printer, cast<ArrayAttr>(dim)); });
  printer << ']';
  if (!getPartial().empty()) {
    printer << ", partial " << (getIsMax() ? "max " : "sum ");
    printAxes(printer, getPartial());
  }
  if (!getFlat().empty()) {
    printer << ", flat ";
    printAxes(printer, getFlat());
  }
  if (!getClosed().empty()) {
    printer << ", closed ";
    printAxes(printer, getClosed());
  }
  printer << '>';
}

LogicalResult LayoutAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, ArrayAttr dims, ArrayAttr partial, bool,
                                 ArrayAttr flat, ArrayAttr) {
  llvm::StringSet<> seen;
  auto once = [&](ArrayAttr axes) {
    return llvm::all_of(axes, [&](Attribute axis) { return isa<StringAttr>(axis) && seen.insert(cast<StringAttr>(axis).getValue()).second; });
  };
  bool distinct = once(partial) && once(flat);
  for (Attribute dim : dims)
    distinct = isa<ArrayAttr>(dim) && once(cast<ArrayAttr>(dim)) && distinct;
  if (!distinct)
    return emitError() << "(L1) expected each axis at most once in a layout's dims, partial and flat";
  return success();
}

::lf::Layout LayoutAttr::getLayout() const {
  ::lf::Layout layout;
  for (Attribute dim : getDims())
    layout.dims.push_back(axesOf(cast<ArrayAttr>(dim)));
  for (const std::string &axis : axesOf(getPartial()))
    layout.partial.insert(axis);
  layout.kind = getIsMax() ? ::lf::Reduction::max : ::lf::Reduction::sum;
  layout.flat = axesOf(getFlat());
  return layout;
}

::lf::Axes LayoutAttr::getClosedAxes() const { return axesOf(getClosed()); }

LayoutAttr LayoutAttr::get(MLIRContext *context, const ::lf::Layout &layout, const ::lf::Axes &closed) {
  SmallVector<Attribute> dims;
  for (const ::lf::Axes &dim : layout.dims)
    dims.push_back(axesAttr(context, dim));
  ::lf::Axes partial(layout.partial.begin(), layout.partial.end());
  return get(context, ArrayAttr::get(context, dims), axesAttr(context, partial), layout.kind == ::lf::Reduction::max && !partial.empty(),
             axesAttr(context, layout.flat), axesAttr(context, closed));
}

Attribute RolesAttr::parse(AsmParser &parser, Type) {
  NamedAttrList factors;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, [&]() -> ParseResult {
        std::string factor;
        ArrayAttr axes;
        SMLoc at = parser.getCurrentLocation();
        if (parser.parseKeywordOrString(&factor) || parser.parseEqual() || parseAxes(parser, axes))
          return failure();
        if (factor.size() != 1 || factors.get(factor))
          return parser.emitError(at) << "expected a factor (one letter, once), got \"" << factor << "\"";
        factors.append(factor, axes);
        return success();
      }))
    return {};
  llvm::StringSet<> seen;
  for (NamedAttribute factor : factors)
    for (const std::string &axis : axesOf(cast<ArrayAttr>(factor.getValue())))
      if (!seen.insert(axis).second) {
        // One axis in two factors is the mark of a ring: the op that has it says so.
        if (factors.getAttrs().size() < 2) {
          parser.emitError(loc) << "(L1) expected axis \"" << axis << "\" once in a factor";
          return {};
        }
      }
  return RolesAttr::get(parser.getContext(), factors.getDictionary(parser.getContext()));
}

void RolesAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getFactors(), printer, [&](NamedAttribute factor) {
    printer.printKeywordOrString(factor.getName());
    printer << " = ";
    printAxes(printer, cast<ArrayAttr>(factor.getValue()));
  });
  printer << '>';
}

::lf::Roles RolesAttr::getRoles() const {
  ::lf::Roles roles;
  for (NamedAttribute factor : getFactors())
    roles[factor.getName().getValue().front()] = axesOf(cast<ArrayAttr>(factor.getValue()));
  return roles;
}

RolesAttr RolesAttr::get(MLIRContext *context, const ::lf::Roles &roles) {
  NamedAttrList factors;
  for (const auto &[factor, axes] : roles)
    if (!axes.empty())
      factors.append(std::string(1, factor), axesAttr(context, axes));
  return get(context, factors.getDictionary(context));
}

//===- Tensors.h - Tensors of a safetensors folder, in float64 --------------===//
//
// Just what comparing needs: names and values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <map>
#include <string>
#include <vector>

namespace lf {

using Tensors = std::map<std::string, std::vector<double>>;

/// All F64 tensors of the *.safetensors files in `folder`. Throws lf::Error (exit 4) that names file and byte offset or
/// tensor: nothing there, a header that is none, another type.
Tensors readTensors(const std::string &folder);

double norm(const std::vector<double> &);

} // namespace lf

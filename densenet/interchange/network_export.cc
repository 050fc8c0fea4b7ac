#include "densenet/interchange/network_export.h"

#include <vector>

#include "core/io/safetensors.h"
#include "densenet/interchange/tensor_names.h"

namespace densenet {

Status ExportSafetensors(const std::string& path, const CheckpointInfo& info,
                         ParameterStore& store) {
  const Naming& naming = Namings()[0];
  std::vector<std::vector<float>> values;
  std::vector<SafetensorsItem> items;
  const auto add = [&](const ParameterSpec& spec, TensorView view) {
    values.emplace_back(static_cast<size_t>(view.elems()));
    ToForeign(absl::MakeConstSpan(view.data<float>(), values.back().size()),
              spec.shape, absl::MakeSpan(values.back()));
    items.push_back({ForeignName(naming, spec.name),
                     ConstTensorView(values.back().data(), DType::kFloat32,
                                     Shape(absl::MakeConstSpan(
                                         ForeignShape(spec.shape))))});
  };
  for (size_t i = 0; i < store.parameters().size(); ++i) {
    add(store.parameters()[i], store.value(static_cast<int64_t>(i)));
  }
  for (size_t i = 0; i < store.statistics().size(); ++i) {
    add(store.statistics()[i], store.statistic(static_cast<int64_t>(i)));
  }
  return WriteSafetensors(path, items,
                          {{"format", "pt"},
                           {kModelMetadata, DumpJson(ToJson(info.model))},
                           {kDataMetadata, DumpJson(ToJson(info.data))}});
}

}  // namespace densenet

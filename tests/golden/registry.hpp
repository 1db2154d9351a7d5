// Finds golden cases and makes each of them a test of its own name.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "case.hpp"
#include "model_case.hpp"
#include "real_case.hpp"

namespace golden {

/// A test whose body is a value. What throws Unsupported is skipped with that reason.
class DynamicTest : public ::testing::Test {
 public:
  explicit DynamicTest(std::function<void()> body) : body_(std::move(body)) {}

 private:
  void TestBody() override {
    try {
      body_();
    } catch (const Unsupported& missing) {
      GTEST_SKIP() << missing.reason;
    }
  }
  std::function<void()> body_;
};

inline void add_test(const std::string& suite, const std::string& name,
                     std::function<void()> body) {
  ::testing::RegisterTest(
      suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
      [body = std::move(body)]() -> ::testing::Test* { return new DynamicTest(body); });
}

/// A further test of a case beside the one on the backend, where it applies.
struct Extra {
  std::string name;
  bool (*applies)(const OpCase&);
  void (*run)(const OpCase&);
};

/// What one backend runs: a function for every operation ("attention" serves all files of that
/// prefix), one for models and one for published models.
struct Runners {
  std::string backend;
  std::map<std::string, void (*)(const OpCase&), std::less<>> ops;
  bool skip_missing_ops = true;  // by name; else they are left to the other backends
  void (*model)(const ModelCase&) = nullptr;
  void (*real)(const RealCase&) = nullptr;
  std::vector<Extra> extras;
  void (*oracle_model)(const ModelCase&) = nullptr;
};

namespace detail {

inline void add_op_file(const Runners& run, const std::string& suite, const std::string& op,
                        std::shared_ptr<const ashlar::SafetensorsFile> file) {
  const auto runner = run.ops.find(op.starts_with("attention_") ? "attention" : op);
  const auto function = runner == run.ops.end() ? nullptr : runner->second;
  if (!function && !run.skip_missing_ops) return;
  const int count = std::stoi(file->metadata().find("cases")->second);
  for (int i = 0; i < count; ++i) {
    const std::string name = "case" + std::to_string(i) + "/";
    add_test(suite, name + run.backend, [=] {
      if (!function) throw Unsupported{"operation " + op + " is not implemented yet"};
      function(OpCase(file, op, i));
    });
    for (const Extra& extra : run.extras)
      if (extra.applies(OpCase(file, op, i)))
        add_test(suite, name + extra.name, [=, f = extra.run] { f(OpCase(file, op, i)); });
  }
}

/// Everything below `root`: a folder with config.json and expected.safetensors is a model, another
/// safetensors file an operation, if it has a number of `cases`, else about a published model.
/// Encoders, and files with sentence embeddings, are found here and made tests by
/// encoder_cases_test.cpp.
inline int add_cases(const Runners& run, const std::string& label,
                     const std::filesystem::path& root) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  if (fs::is_directory(root)) {
    for (const auto& entry : fs::recursive_directory_iterator(root)) files.push_back(entry.path());
  } else {
    files.push_back(root);
  }
  std::sort(files.begin(), files.end());
  int found = 0;
  for (const fs::path& path : files) {
    const std::string below = fs::relative(path, root).replace_extension().generic_string();
    const std::string suite = label + (below == "." ? "" : "/" + below);
    if (path.filename() == "expected.safetensors") {
      ++found;
      if (is_encoder_case(path.string())) continue;
      const fs::path folder = path.parent_path();
      const std::string parent = fs::relative(folder, root).generic_string();
      const std::string name = label + (parent == "." ? "" : "/" + parent);
      add_test(name, run.backend,
               [model = run.model, folder] { model(ModelCase(folder.string())); });
      if (run.oracle_model)
        add_test(name, "oracle",
                 [model = run.oracle_model, folder] { model(ModelCase(folder.string())); });
    } else if (path.extension() == ".safetensors" &&
               !fs::exists(path.parent_path() / "expected.safetensors")) {
      std::shared_ptr<const ashlar::SafetensorsFile> file;
      try {
        file = std::make_shared<const ashlar::SafetensorsFile>(path.string());
      } catch (const std::exception& error) {
        add_test(suite, run.backend, [text = std::string(error.what())] { ADD_FAILURE() << text; });
        continue;
      }
      ++found;
      if (file->find("embeddings") != nullptr) continue;
      if (file->metadata().count("cases") == 0) {
        add_test(suite, run.backend, [real = run.real, file, name = path.stem().string()] {
          real(RealCase(file, name));
        });
        continue;
      }
      add_op_file(run, suite, path.stem().string(), file);
    }
  }
  return found;
}

}  // namespace detail

/// Calls f(label, path) for the project's own cases and for each folder in ASHLAR_GOLDEN, separated
/// by colons.
template <class F>
void for_each_root(F&& f) {
  f("golden", std::string(ASHLAR_TEST_DATA));
  const char* extra = std::getenv("ASHLAR_GOLDEN");
  std::string_view rest = extra ? extra : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) f(std::string(rest.substr(0, end)), std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

/// Registers the project's own cases and those of each folder in ASHLAR_GOLDEN. A folder that is
/// not there or holds no case is a failing test.
inline bool register_cases(const Runners& run) {
  for_each_root([&](const std::string& label, const std::string& path) {
    int found = 0;
    std::string problem = "holds no golden case";
    try {
      found = detail::add_cases(run, label, path);
    } catch (const std::exception& error) {
      problem = error.what();
    }
    if (found == 0) add_test(label, run.backend, [=] { ADD_FAILURE() << path << ": " << problem; });
  });
  return true;
}

}  // namespace golden

#pragma once

#include <memory>
#include <utility>

#include "executors/cpu/frame.h"

namespace lathe {

/// A step whose work is a callable over the frame; what it needs was copied into it at lowering.
template <typename Body>
class BodyStep final : public Step {
 public:
  BodyStep(const char* name, Body body) : name_(name), body_(std::move(body)) {}
  void run(const Frame& frame) const noexcept override { body_(frame); }
  const char* name() const override { return name_; }

 private:
  const char* name_;
  Body body_;
};

template <typename Body>
std::unique_ptr<Step> make_step(const char* name, Body body) {
  return std::make_unique<BodyStep<Body>>(name, std::move(body));
}

}  // namespace lathe

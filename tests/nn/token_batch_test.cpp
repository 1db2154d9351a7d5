// TokenBatch: its rotary tables follow its positions.
#include <gtest/gtest.h>

#include <ashlar/nn/token_batch.hpp>
#include <cmath>

namespace {

using namespace ashlar;

TEST(TokenBatch, TablesFollowPositionsThatAreChanged) {
  TokenBatch batch(1, 3);
  const RopeRule rule{.theta = 10000.0, .width = 2};  // one pair that turns by a radian a position
  EXPECT_EQ(batch.tables().get<float>(rule, batch.positions())(2, 0, 0), std::cos(2.0f));
  batch.positions()(2) = 50;
  const TokenBatch& read = batch;
  EXPECT_FLOAT_EQ(read.tables().get<float>(rule, read.positions())(2, 0, 0),
                  static_cast<float>(std::cos(50.0)));
  batch.reset(1, 3, 7);
  EXPECT_FLOAT_EQ(read.tables().get<float>(rule, read.positions())(2, 1, 0),
                  static_cast<float>(std::sin(9.0)));
}

}  // namespace

// Must not compile: the compiler shows the line of block.h that says what to override.
#include <kiln/kiln.h>

class Net : public kiln::HybridBlock {
 protected:
  kiln::Tensor forward(const kiln::Tensor& x) { return x; }
};

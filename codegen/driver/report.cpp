// The scope in which compilations are described.
#include "codegen/driver/report.h"

namespace kiln {

ReportScope*& ReportScope::current() {
  thread_local ReportScope* scope = nullptr;
  return scope;
}

}  // namespace kiln

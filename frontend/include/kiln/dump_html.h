// A page that shows how a network was compiled and where its time goes.
#pragma once
#include <kiln/block.h>

#include <functional>
#include <source_location>
#include <string>

namespace kiln {

/// Options of dump_html().
struct DumpHtmlOptions {
  double seconds = 0.5;  ///< of measurement
  /// Of the page; empty: the network's name, else the graph's. Bytes that are no UTF-8 become U+FFFD.
  std::string title = {};
};

/// Writes one HTML file, which a browser opens without a network. It links the program's lines, the nodes of
/// the graph, the kernels with their time, bytes and multiply-adds, and their machine code. For each kernel
/// it has a C++ program that computes the kernel's nodes.
///
/// Calls `call` once, and describes each graph that this thread compiles in it. Then it repeats the call for
/// the given time, at least five times; a kernel's time is the median. Code from before is not described:
/// make the network or the training step anew, or call it with other shapes. All effects of `call` remain,
/// updates of parameters too.
///
/// ```
/// TrainStep step = net.train_step(loss, trainer);  // not called yet
/// dump_html([&] { step(x, y); }, "step.html");
/// ```
///
/// Throws kiln::Error if `call` compiled nothing, if the file cannot be written, and errors of `call`. One
/// thread at a time.
KILN_API void dump_html(const std::function<void()>& call, const std::string& path,
                        const DumpHtmlOptions& options = {},
                        std::source_location where = std::source_location::current());

/// The same for net(inputs), which is compiled anew, hybridized or not, with the present threads, device and
/// training mode. The recordings of the network stay as they are. Throws for a call that runs eagerly
/// (CompiledCall::eager_because).
KILN_API void dump_html(HybridBlock& net, const Tensors& inputs, const std::string& path,
                        const DumpHtmlOptions& options = {},
                        std::source_location where = std::source_location::current());

}  // namespace kiln

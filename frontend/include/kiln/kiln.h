#pragma once
/// All of Kiln's public interface.
#include <kiln/block.h>
#include <kiln/containers.h>
#include <kiln/context.h>
#include <kiln/control_flow.h>
#include <kiln/f.h>
#include <kiln/io.h>
#include <kiln/memory.h>
#include <kiln/model.h>
#include <kiln/model_zoo.h>
#include <kiln/nn.h>
#include <kiln/random.h>
#include <kiln/symbol.h>
#include <kiln/symbol_block.h>
#include <kiln/tensor.h>
#include <kiln/threads.h>

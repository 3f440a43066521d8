// Datasets and the loops over them: includes the headers of kiln::data.
#pragma once
/// Datasets and the loops over them, as mxnet.gluon.data.
#include <kiln/batchify.h>
#include <kiln/data_loader.h>
#include <kiln/dataset.h>
#include <kiln/recordio.h>
#include <kiln/sampler.h>
#include <kiln/transforms.h>
#include <kiln/vision_data.h>

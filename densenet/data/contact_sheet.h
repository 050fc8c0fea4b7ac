// densenet/data/contact_sheet.h
//
// Many small images on one, each with its label below: to look at what a
// network is trained on.
//
// Memory   the sheet
// Threads  safe

#ifndef DENSENET_DENSENET_DATA_CONTACT_SHEET_H_
#define DENSENET_DENSENET_DATA_CONTACT_SHEET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/io/image.h"

namespace densenet {

struct ContactSheet {
  std::string title;
  // All of one size.
  std::vector<Image> images;
  std::vector<std::string> labels;
};

// Rows of about as many images as there are rows. Small images are enlarged by
// a whole factor, without smoothing. Labels that are too long end in "..".
// CHECKs that there is an image and as many labels, and that sizes agree.
Image DrawContactSheet(const ContactSheet& sheet);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_CONTACT_SHEET_H_

// In place of stb's: the picture of every file is a small made-up one.
#pragma once
#include <cstdlib>

enum { STBI_default, STBI_grey, STBI_grey_alpha, STBI_rgb, STBI_rgb_alpha };

inline unsigned char *stbi_load(const char *, int *width, int *height, int *channels, int wanted) {
  *width = 64;
  *height = 32;
  *channels = 3;
  const int bytes = *width * *height * (wanted ? wanted : *channels);
  unsigned char *picture = (unsigned char *)malloc(bytes);
  for (int i = 0; i < bytes; ++i) picture[i] = (unsigned char)(i * 7 % 251);
  return picture;
}
inline void stbi_image_free(void *picture) { free(picture); }
inline const char *stbi_failure_reason() { return ""; }

/* A plugin that links weft; its host knows nothing of it. */
#include "product.h"

int plugin_evaluate(int factor) { return wrong_product_anew(factor); }

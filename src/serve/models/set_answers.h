// Requests that a server of several models answers itself.
#pragma once

#include "serve/models/model_set.h"
#include "serve/routes.h"

namespace pando::serve {

using SetAnswer = HttpResponse(const ModelSet& set, const HttpRequest& request);

// Null for a route that a model answers.
SetAnswer* find_set_answer(const Route& route);

// Answers a request about data that the server keeps. May wait for a disk.
HttpResponse answer_kept(ModelSet& set, const Route& route, const HttpRequest& request);

}  // namespace pando::serve

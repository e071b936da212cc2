// How the hub is reached: by the variables of the environment that the hub's own library reads.
#pragma once

#include "hub/hub_client.h"

namespace pando::cli {

// HF_ENDPOINT, HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE, and the folder of hub_cache().
// The token is the first of HF_TOKEN, HUGGING_FACE_HUB_TOKEN, and the files HF_TOKEN_PATH,
// HF_HOME/token or huggingface/token in the user's cache. The certificates are those of
// SSL_CERT_FILE, REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE, or the system's.
hub::HubAccess hub_access();

}  // namespace pando::cli

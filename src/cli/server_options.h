// Options of commands that serve over HTTP.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "serve/options.h"

namespace pando::cli {

struct ServerArguments {
  serve::ServerOptions server;
  std::string api_key_file;
  std::string log = "requests";
  int request_timeout = 600, drain_timeout = 30;  // seconds
};

// Adds them to the parser, with their defaults.
void add_address_options(CLI::App& app, ServerArguments& o);
void add_log_option(CLI::App& app, ServerArguments& o);
void add_client_options(CLI::App& app, ServerArguments& o);      // keys, origins, TLS
void add_connection_options(CLI::App& app, ServerArguments& o);  // limits

// Lines of a file of keys. Errors: kNotFound and kBadFile, after the option's name.
Status read_key_lines(const char* option, const std::string& path, std::vector<std::string>& lines);
// Checks them and reads the files that they name. An exit code; what is wrong is printed.
int read_server_arguments(ServerArguments& o);
// "https://[::1]:8000", with the port that the server has.
std::string address_text(const serve::ServerOptions& options, uint16_t port);
// As many descriptors as connections may take.
void allow_connections(size_t n_connections);

}  // namespace pando::cli

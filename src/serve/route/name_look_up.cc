#include "serve/route/name_look_up.h"

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <string>

namespace pando::serve {
namespace {

// The addresses of a name. If it has some of IPv4, those of IPv6 are left out: they are the same
// machines.
std::vector<ReplicaSet::Address> addresses_of(
    const ReplicaUrl& url, const boost::asio::ip::tcp::resolver::results_type& found) {
  std::vector<ReplicaSet::Address> addresses;
  bool has_v4 = false;
  for (const auto& one : found) has_v4 |= one.endpoint().address().is_v4();
  for (const auto& one : found)
    if (!has_v4 || one.endpoint().address().is_v4()) addresses.emplace_back(url, one.endpoint());
  return addresses;
}

}  // namespace

void LookUp::run() noexcept {
  try {
    boost::asio::io_context context;
    boost::asio::ip::tcp::resolver resolver(context);
    const auto found = resolver.resolve(url.host, std::to_string(url.port), error);
    if (!error) addresses = addresses_of(url, found);
  } catch (const std::exception&) {
    error = boost::asio::error::no_memory;
  }
  is_over = true;
}

}  // namespace pando::serve

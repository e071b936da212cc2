// Values as bytes, for another process of the run, which runs the same program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace pando {

template <class T>
concept PlainValue = std::is_arithmetic_v<T> || std::is_enum_v<T>;
// Types for which members(T&) ties all members that are sent.
template <class T>
concept HasMembers = requires(T& value) {
  members(value);
};

class ByteWriter {
 public:
  template <PlainValue T>
  void write(const T& value) {
    append(&value, sizeof(T));
  }
  void write(const std::string& text) { write_plain(text); }
  template <class T>
  void write(const std::vector<T>& values) {
    if constexpr (PlainValue<T>) {
      write_plain(values);
    } else {
      write(uint64_t{values.size()});
      for (const T& value : values) write(value);
    }
  }
  template <class A, class B>
  void write(const std::pair<A, B>& pair) {
    write(pair.first);
    write(pair.second);
  }
  template <class K, class V>
  void write(const std::map<K, V>& map) {
    write(uint64_t{map.size()});
    for (const auto& entry : map) write(entry);
  }
  template <class T>
  void write(const std::optional<T>& value) {
    write(value.has_value());
    if (value) write(*value);
  }
  void write(std::monostate) {}
  template <class... T>
  void write(const std::variant<T...>& value) {
    write(static_cast<uint8_t>(value.index()));
    std::visit([this](const auto& one) { this->write(one); }, value);
  }
  template <class T>
  void write(const std::shared_ptr<const T>& value) {
    write(*value);
  }
  template <HasMembers T>
  void write(const T& value) {
    std::apply([this](const auto&... member) { (this->write(member), ...); }, members(value));
  }

  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  template <class List>
  void write_plain(const List& list) {
    write(uint64_t{list.size()});
    append(list.data(), list.size() * sizeof(list[0]));
  }
  void append(const void* from, size_t n) {
    const auto* const bytes = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), bytes, bytes + n);
  }

  std::vector<std::byte> bytes_;
};

// Reads values in the order in which a ByteWriter wrote them. Throws std::runtime_error if the
// bytes end early.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T read() {
    T value{};
    read(value);
    return value;
  }
  bool is_over() const { return bytes_.empty(); }

 private:
  template <PlainValue T>
  void read(T& value) {
    copy(&value, sizeof(T));
  }
  void read(std::string& text) { read_plain(text); }
  template <class T>
  void read(std::vector<T>& values) {
    if constexpr (PlainValue<T>) {
      read_plain(values);
    } else {
      values.resize(n_of(1));
      for (T& value : values) read(value);
    }
  }
  template <class A, class B>
  void read(std::pair<A, B>& pair) {
    read(pair.first);
    read(pair.second);
  }
  template <class K, class V>
  void read(std::map<K, V>& map) {
    for (size_t n = n_of(1); n > 0; --n) map.insert(read<std::pair<K, V>>());
  }
  template <class T>
  void read(std::optional<T>& value) {
    if (read<bool>()) read(value.emplace());
  }
  void read(std::monostate&) {}
  template <class... T>
  void read(std::variant<T...>& value) {
    const auto index = read<uint8_t>();
    if (index >= sizeof...(T)) throw std::runtime_error("a variant of an unknown type");
    uint8_t i = 0;
    ((index == i++ ? read(value.template emplace<T>()) : void()), ...);
  }
  template <class T>
  void read(std::shared_ptr<const T>& value) {
    value = std::make_shared<const T>(read<T>());
  }
  template <HasMembers T>
  void read(T& value) {
    std::apply([this](auto&... member) { (this->read(member), ...); }, members(value));
  }

  template <class List>
  void read_plain(List& list) {
    list.resize(n_of(sizeof(list[0])));
    copy(list.data(), list.size() * sizeof(list[0]));
  }
  // Number of elements of a list, each of which takes at least n_bytes.
  size_t n_of(size_t n_bytes) {
    const auto n = read<uint64_t>();
    if (n > bytes_.size() / n_bytes) ends_early();
    return n;
  }
  void copy(void* to, size_t n) {
    if (n > bytes_.size()) ends_early();
    if (n > 0) std::memcpy(to, bytes_.data(), n);
    bytes_ = bytes_.subspan(n);
  }
  [[noreturn]] static void ends_early() {
    throw std::runtime_error(
        "a message of another process is too short, expected one of the same build");
  }

  std::span<const std::byte> bytes_;
};

}  // namespace pando

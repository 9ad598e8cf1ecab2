// Stands in for libenvpp: variables of the environment whose names begin with a prefix, as SimSYCL asks for them.
#pragma once

#include <fmt/format.h>

#include <any>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace env {

struct parser_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <class T> struct default_parser {
    T operator()(std::string_view text) const { return static_cast<T>(std::stoull(std::string(text))); }
};

template <class T> struct variable {
    std::string name;
};

struct parsed {
    std::map<std::string, std::any> values;

    bool ok() const { return true; }
    std::string warning_message() const { return {}; }
    std::string error_message() const { return {}; }
    template <class T> std::optional<T> get(const variable<T> &asked) const
    {
        const auto found = values.find(asked.name);
        return found == values.end() ? std::nullopt : std::optional<T>(std::any_cast<T>(found->second));
    }
    template <class T, class Other> T get_or(const variable<T> &asked, Other other) const
    {
        return get(asked).value_or(T(other));
    }
};

class prefix {
public:
    explicit prefix(std::string text) : text(std::move(text)) {}

    template <class T, class Parser> variable<T> register_variable(const std::string &name, Parser parser)
    {
        if (const char *told = std::getenv((text + "_" + name).c_str()))
            found.values[name] = std::any(T(parser(std::string_view(told))));
        return {name};
    }
    const parsed &parse_and_validate() const { return found; }

private:
    std::string text;
    parsed found;
};

}  // namespace env

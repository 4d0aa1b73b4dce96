-- Keep or drop what Quarto calls conditional content, as its filter content-hidden.lua does.
local metadata

local function holds(name)
  local value = metadata
  for key in name:gmatch("[^.]+") do
    value = type(value) == "table" and value[key] or nil
  end
  return value == true
end

local function is_shown(element)
  local attributes = element.attributes
  local met = true
  local function require(name, test, expected)
    if attributes[name] then met = met and test(attributes[name]) == expected end
    attributes[name] = nil
  end
  local function is_format(name) return FORMAT:match(name) ~= nil end
  require("when-meta", holds, true)
  require("unless-meta", holds, false)
  require("when-format", is_format, true)
  require("unless-format", is_format, false)
  return met ~= element.classes:includes("content-hidden")
end

local function of_condition(element)
  return element.classes:includes("content-visible") or element.classes:includes("content-hidden")
end

local function inline(element)
  if not of_condition(element) then return nil end
  if not is_shown(element) then return {} end
  element.classes = element.classes:filter(function(name) return not name:match("^content%-") end)
  return element
end

return {
  { Meta = function(found) metadata = found end },
  {
    Div = function(element)
      if of_condition(element) then return is_shown(element) and element.content or {} end
    end,
    Span = inline,
    CodeBlock = inline,
  },
}

-- What Quarto's filters do, for the built-in renderer: conditional content (as content-hidden.lua) and callouts.
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

-- The title of a callout is an attribute, or the heading that it begins with.
local function callout(element)
  local kind
  for _, name in ipairs(element.classes) do kind = kind or name:match("^callout%-(%a+)$") end
  if not kind then return nil end
  local title = element.attributes.title
  local first = element.content[1]
  if title then
    title = pandoc.utils.blocks_to_inlines(pandoc.read(title, "markdown").blocks)
  elseif first and first.t == "Header" then
    title = first.content
    element.content:remove(1)
  else
    title = { pandoc.Str(kind:sub(1, 1):upper() .. kind:sub(2)) }
  end
  element.content:insert(1, pandoc.Para({ pandoc.Strong(title) }))
  return pandoc.Div(element.content, pandoc.Attr(element.identifier, { "callout", "callout-" .. kind }))
end

return {
  { Meta = function(found) metadata = found end },
  {
    Div = function(element)
      if of_condition(element) then return is_shown(element) and element.content or {} end
      return callout(element)
    end,
    Span = inline,
    CodeBlock = inline,
  },
}

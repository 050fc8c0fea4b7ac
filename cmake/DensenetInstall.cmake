# Headers, libraries and the package configuration for find_package(densenet).

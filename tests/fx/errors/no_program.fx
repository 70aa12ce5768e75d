# a remark


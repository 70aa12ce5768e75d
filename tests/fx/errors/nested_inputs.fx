class GraphModule(torch.nn.Module):
    def forward(self, batch):
        x, y, = fx_pytree.tree_flatten_spec(([batch], {}), self._in_spec)
        return (x,)

// line_widen gives every narrow beat on, in its place of a wide beat, which leaves in the cycle behind its last one. One slice of each
// wide beat, any, is followed.
module line_widen_formal #(
    parameter int unsigned InW  = 64,
    parameter int unsigned OutW = 512,

    localparam int unsigned InKeepW = InW / 8,
    localparam int unsigned OutKeepW = OutW / 8,
    localparam int unsigned Slices = OutW / InW,
    localparam int unsigned SliceW = $clog2(Slices)
) (
    input logic clk,
    input logic rst,

    input logic [    InW-1:0] s_axis_tdata,
    input logic [InKeepW-1:0] s_axis_tkeep,
    input logic               s_axis_tlast,
    input logic               s_axis_tuser,
    input logic               s_axis_tvalid,

    input logic [    OutW-1:0] m_axis_tdata,
    input logic [OutKeepW-1:0] m_axis_tkeep,
    input logic                m_axis_tlast,
    input logic                m_axis_tuser,
    input logic                m_axis_tvalid,

    input logic [Slices-1:0][InW-1:0] data_q,
    input logic [Slices-1:0][InKeepW-1:0] keep_q,
    input logic [SliceW-1:0] slice_q
);

  reset_rule u_reset (.*);

  // A slice of the wide beat that is being filled, any: what went in, and so what must come out.
  logic [SliceW-1:0] any_slice, slices_q;
  logic completes, there, here, out_q, last_out_q, user_out_q;
  logic [InW-1:0] data_at_q, data_out_q;
  logic [InKeepW-1:0] keep_at_q, keep_out_q;

  assign completes = s_axis_tlast || slices_q == SliceW'(Slices - 1);
  assign there = any_slice < slices_q;
  assign here = any_slice == slices_q;

  always_ff @(posedge clk) begin
    any_slice <= any_slice;
    out_q <= s_axis_tvalid && completes;
    if (s_axis_tvalid) begin
      slices_q <= completes ? '0 : slices_q + 1'b1;
      if (here) {data_at_q, keep_at_q} <= {s_axis_tdata, s_axis_tkeep};
      data_out_q <= there ? data_at_q : s_axis_tdata;
      keep_out_q <= there ? keep_at_q : here ? s_axis_tkeep : '0;
      last_out_q <= s_axis_tlast;
      user_out_q <= s_axis_tuser;
    end
    if (rst) begin
      slices_q <= '0;
      out_q <= 1'b0;
    end
  end

  always_comb begin
    if (!rst) begin
      a_leaves : assert (m_axis_tvalid == out_q);
      if (m_axis_tvalid) begin
        a_keep : assert (m_axis_tkeep[32'(any_slice)*InKeepW+:InKeepW] == keep_out_q);
        if (keep_out_q != '0) a_data : assert (m_axis_tdata[32'(any_slice)*InW+:InW] == data_out_q);
        a_end : assert (m_axis_tlast == last_out_q && m_axis_tuser == user_out_q);
      end
      i_slice : assert (slice_q == slices_q);
      if (there) i_kept : assert (data_q[any_slice] == data_at_q && keep_q[any_slice] == keep_at_q);
      if (slices_q != '0 && !there) i_empty : assert (keep_q[any_slice] == '0);
    end
  end

endmodule

bind line_widen line_widen_formal #(
    .InW (InW),
    .OutW(OutW)
) u_formal (.*);

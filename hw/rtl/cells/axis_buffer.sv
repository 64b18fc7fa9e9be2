// Queue for many or wide items in block memory: two cycles of latency, full throughput. Holds one item more than Depth.
// For few and narrow ones axis_fifo is smaller.
module axis_buffer #(
    parameter int unsigned DataW = 8,
    parameter int unsigned Depth = 512
) (
    input logic clk,
    input logic rst,

    input  logic [DataW-1:0] s_axis_tdata,
    input  logic             s_axis_tvalid,
    output logic             s_axis_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready
);

  if (Depth < 2 || (Depth & (Depth - 1)) != 0) begin : gen_check
    $error("%m: Depth = %0d must be a power of two, 2 or more", Depth);
  end

  localparam int unsigned PTR_W = $clog2(Depth);

  logic [DataW-1:0] memory[Depth];
  logic [DataW-1:0] data_q;  // the output register of the block memory: the oldest item
  logic [PTR_W:0] write_q, read_q;  // one bit more than an index: equal is empty, Depth apart is full
  logic valid_q, full_q, push, load, last_place;

  assign last_place = write_q - read_q == (PTR_W + 1)'(Depth - 1);
  assign s_axis_tready = !full_q;
  assign m_axis_tdata = data_q;
  assign m_axis_tvalid = valid_q;
  assign push = s_axis_tvalid && s_axis_tready;
  assign load = write_q != read_q && (m_axis_tready || !valid_q);

  always_ff @(posedge clk) begin
    if (push) memory[write_q[PTR_W-1:0]] <= s_axis_tdata;
    if (load) data_q <= memory[read_q[PTR_W-1:0]];
    write_q <= write_q + (PTR_W + 1)'(push);
    read_q  <= read_q + (PTR_W + 1)'(load);
    full_q  <= !load && (full_q || (push && last_place));
    valid_q <= load || (valid_q && !m_axis_tready);
    if (rst) begin
      write_q <= '0;
      read_q  <= '0;
      full_q  <= 1'b0;
      valid_q <= 1'b0;
    end
  end

endmodule

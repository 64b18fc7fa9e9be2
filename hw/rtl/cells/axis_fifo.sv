// Queue for short items (commands, lengths) in distributed memory: one cycle of latency, full throughput.
// Not for whole packets: it has no output register and no packet mode.
module axis_fifo #(
    parameter int unsigned DataW = 8,
    parameter int unsigned Depth = 4
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

  (* ram_style = "distributed" *) logic [DataW-1:0] memory[Depth];
  logic [PTR_W:0] write_q, read_q;  // one bit more than an index: equal is empty, Depth apart is full
  logic full, push, pop;

  assign full = (write_q ^ read_q) == (PTR_W + 1)'(Depth);
  assign s_axis_tready = !full;
  assign m_axis_tvalid = write_q != read_q;
  assign m_axis_tdata = memory[read_q[PTR_W-1:0]];
  assign push = s_axis_tvalid && s_axis_tready;
  assign pop = m_axis_tvalid && m_axis_tready;

  always_ff @(posedge clk) begin
    if (push) memory[write_q[PTR_W-1:0]] <= s_axis_tdata;
    write_q <= write_q + (PTR_W + 1)'(push);
    read_q  <= read_q + (PTR_W + 1)'(pop);
    if (rst) begin
      write_q <= '0;
      read_q  <= '0;
    end
  end

endmodule

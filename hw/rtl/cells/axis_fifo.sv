// Queue for short items (commands, lengths) in distributed memory: one cycle of latency, full throughput.
// Not for whole packets: it has no output register and no packet mode. Every GroupW bits of data are read with a copy of the address of
// their own, so that none drives more; all copies are always equal.
module axis_fifo #(
    parameter int unsigned DataW = 8,
    parameter int unsigned Depth = 4,
    parameter int unsigned GroupW = 112  // eight cells of 32 words
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
  localparam int unsigned GROUPS = (DataW + GroupW - 1) / GroupW;

  logic [PTR_W:0] write_q, read_q;  // one bit more than an index: equal is empty, Depth apart is full
  logic full, push, pop;

  assign full = (write_q ^ read_q) == (PTR_W + 1)'(Depth);
  assign s_axis_tready = !full;
  assign m_axis_tvalid = write_q != read_q;
  assign push = s_axis_tvalid && s_axis_tready;
  assign pop = m_axis_tvalid && m_axis_tready;

  always_ff @(posedge clk) begin
    write_q <= write_q + (PTR_W + 1)'(push);
    read_q  <= read_q + (PTR_W + 1)'(pop);
    if (rst) begin
      write_q <= '0;
      read_q  <= '0;
    end
  end

  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    localparam int unsigned AT = g * GroupW;
    localparam int unsigned WIDTH = AT + GroupW > DataW ? DataW - AT : GroupW;

    (* ram_style = "distributed" *) logic [WIDTH-1:0] memory[Depth];
    logic [PTR_W-1:0] index;  // of the oldest item

    if (g == 0) begin : gen_first
      assign index = read_q[PTR_W-1:0];
    end else begin : gen_copy
      (* keep, dont_merge *)logic [PTR_W-1:0] index_q;

      always_ff @(posedge clk) begin
        index_q <= index_q + PTR_W'(pop);
        if (rst) index_q <= '0;
      end

      assign index = index_q;
    end

    always_ff @(posedge clk) if (push) memory[write_q[PTR_W-1:0]] <= s_axis_tdata[AT+:WIDTH];
    assign m_axis_tdata[AT+:WIDTH] = memory[index];
  end

endmodule

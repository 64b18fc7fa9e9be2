// Adders and comparators of 8 bits and more as one cell each, as the carry chain that an FPGA makes of them; yosys' own
// map is a tree of LUTs. With CELLS the cells, else the map for `techmap` from yosys' word-level cells.
`ifdef CELLS

module carry_alu #(
    parameter WIDTH = 1
) (
    input [WIDTH-1:0] A,
    input [WIDTH-1:0] B,
    input CI,
    input BI,
    output [WIDTH-1:0] X,
    output [WIDTH-1:0] Y,
    output [WIDTH-1:0] CO
);
endmodule

module carry_lcu #(
    parameter WIDTH = 1
) (
    input [WIDTH-1:0] P,
    input [WIDTH-1:0] G,
    input CI,
    output [WIDTH-1:0] CO
);
endmodule

`else

(* techmap_celltype = "$alu" *)
module _80_carry_alu #(
    parameter A_SIGNED = 0,
    parameter B_SIGNED = 0,
    parameter A_WIDTH = 1,
    parameter B_WIDTH = 1,
    parameter Y_WIDTH = 1
) (
    (* force_downto *) input [A_WIDTH-1:0] A,
    (* force_downto *) input [B_WIDTH-1:0] B,
    input CI,
    input BI,
    (* force_downto *) output [Y_WIDTH-1:0] X,
    (* force_downto *) output [Y_WIDTH-1:0] Y,
    (* force_downto *) output [Y_WIDTH-1:0] CO
);
  wire _TECHMAP_FAIL_ = Y_WIDTH < 8;
  (* force_downto *) wire [Y_WIDTH-1:0] a, b;
  \$pos #(.A_SIGNED(A_SIGNED), .A_WIDTH(A_WIDTH), .Y_WIDTH(Y_WIDTH)) extend_a (.A(A), .Y(a));
  \$pos #(.A_SIGNED(B_SIGNED), .A_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH)) extend_b (.A(B), .Y(b));
  carry_alu #(.WIDTH(Y_WIDTH)) _TECHMAP_REPLACE_ (.A(a), .B(b), .CI, .BI, .X, .Y, .CO);
endmodule

(* techmap_celltype = "$lcu" *)
module _80_carry_lcu #(
    parameter WIDTH = 1
) (
    (* force_downto *) input [WIDTH-1:0] P,
    (* force_downto *) input [WIDTH-1:0] G,
    input CI,
    (* force_downto *) output [WIDTH-1:0] CO
);
  wire _TECHMAP_FAIL_ = WIDTH < 8;
  carry_lcu #(.WIDTH(WIDTH)) _TECHMAP_REPLACE_ (.P, .G, .CI, .CO);
endmodule

`endif
